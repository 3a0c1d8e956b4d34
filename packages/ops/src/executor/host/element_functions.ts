/** Functions of one element of each operand, which kernels number by their places here. */
export const ELEMENT_FUNCTIONS = [
  ...(['copy', 'add', 'subtract', 'multiply', 'divide', 'minimum', 'maximum', 'power'] as const),
  ...(['greater', 'less', 'equal', 'exp', 'log', 'sqrt', 'abs', 'negate', 'square', 'sin', 'cos', 'select'] as const),
] as const

export type ElementFunctionName = (typeof ELEMENT_FUNCTIONS)[number]

/** A function of elements. One switch, as a loop that calls a function of a table takes eight times as long in V8. */
export function elementValue(name: ElementFunctionName, a: number, b: number, c: number): number {
  switch (name) {
    case 'copy':
      return a
    case 'multiply':
      return a * b
    case 'add':
      return a + b
    case 'subtract':
      return a - b
    case 'divide':
      return a / b
    case 'minimum':
      return Math.min(a, b)
    case 'maximum':
      return Math.max(a, b)
    case 'greater':
      return a > b ? 1 : 0
    case 'less':
      return a < b ? 1 : 0
    case 'equal':
      return a === b ? 1 : 0
    case 'select':
      return a !== 0 ? b : c
    case 'negate':
      return -a
    case 'square':
      return a * a
    case 'abs':
      return Math.abs(a)
    case 'sqrt':
      return Math.sqrt(a)
    case 'exp':
      return Math.exp(a)
    case 'log':
      return Math.log(a)
    case 'sin':
      return Math.sin(a)
    case 'cos':
      return Math.cos(a)
    case 'power':
      // 1 to any power is 1, as in C and NumPy.
      return a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY) ? 1 : a ** b
  }
}

/** Sums and their like, which kernels number by their places here. */
export const REDUCTIONS = ['sum', 'mean', 'max'] as const

export type ReductionName = (typeof REDUCTIONS)[number]

/** The function of a row of elements; `copy` if the row moves them. */
export function elementFunctionOf(name: string): ElementFunctionName {
  return (ELEMENT_FUNCTIONS as readonly string[]).includes(name) ? (name as ElementFunctionName) : 'copy'
}
