/** Functions of one element of each operand, which kernels number by their places here. */
export const ELEMENT_FUNCTIONS = {
  copy: (a: number) => a,
  add: (a: number, b: number) => a + b,
  subtract: (a: number, b: number) => a - b,
  multiply: (a: number, b: number) => a * b,
  divide: (a: number, b: number) => a / b,
  minimum: (a: number, b: number) => Math.min(a, b),
  maximum: (a: number, b: number) => Math.max(a, b),
  // As C and NumPy have it: 1 to the power of anything is 1.
  power: (a: number, b: number) => (a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY) ? 1 : a ** b),
  greater: (a: number, b: number) => Number(a > b),
  less: (a: number, b: number) => Number(a < b),
  equal: (a: number, b: number) => Number(a === b),
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  abs: Math.abs,
  negate: (a: number) => -a,
  square: (a: number) => a * a,
  sin: Math.sin,
  cos: Math.cos,
  select: (a: number, b: number, c: number) => (a !== 0 ? b : c),
} as const

export type ElementFunctionName = keyof typeof ELEMENT_FUNCTIONS

/** Sums and their like, which kernels number by their places here. */
export const REDUCTIONS = ['sum', 'mean', 'max'] as const

export type ReductionName = (typeof REDUCTIONS)[number]

/** The function of a row of elements; that of a row that moves them is `copy`. */
export function elementFunctionOf(name: string): ElementFunctionName {
  return Object.hasOwn(ELEMENT_FUNCTIONS, name) ? (name as ElementFunctionName) : 'copy'
}
