/** How the matrices of an inference are stored: a half or a quarter of the bytes; activations stay float32. */
export const WEIGHT_FORMATS = ['float32', 'bfloat16', 'int8'] as const

export type WeightFormat = (typeof WEIGHT_FORMATS)[number]

/** In the order of WeightFormat of native/cpu/src/kernels/kernels.h: the last two round the rows of products too. */
export const MATRIX_FORMATS = [...WEIGHT_FORMATS, 'bfloat16_products', 'int8_products'] as const

export type MatrixFormat = (typeof MATRIX_FORMATS)[number]
