/** Activations of the cells that let one choose: the function, and its slope written in the function's own result y. */
export const ACTIVATIONS = Object.freeze({
  tanh: { apply: Math.tanh, slope: (y: number) => 1 - y * y },
  relu: { apply: (x: number) => (x > 0 ? x : 0), slope: (y: number) => (y > 0 ? 1 : 0) },
} as const)

export type Activation = keyof typeof ACTIVATIONS
