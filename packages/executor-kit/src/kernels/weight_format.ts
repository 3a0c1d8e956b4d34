/** How the matrices of an inference are stored: a half or a quarter of the bytes; activations stay float32. */
export const WEIGHT_FORMATS = ['float32', 'bfloat16', 'int8'] as const

export type WeightFormat = (typeof WEIGHT_FORMATS)[number]
