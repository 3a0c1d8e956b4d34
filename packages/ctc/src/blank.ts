/** The class of the blank: its number, or `first` (0, PyTorch and cuDNN) or `last` (K-1, TensorFlow 1). */
export type Blank = number | 'first' | 'last'

/** The number of the blank among `classes`. The caller checks that a number is a class. */
export function blankClass(blank: Blank, classes: number): number {
  if (blank === 'first') return 0
  return blank === 'last' ? classes - 1 : blank
}
