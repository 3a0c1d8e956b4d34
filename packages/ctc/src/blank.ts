/** The class of the blank: its number, or `first` (0, PyTorch and cuDNN) or `last` (K-1, TensorFlow 1). */
export type Blank = number | 'first' | 'last'

/** The number of the blank among `classes`; what is no class is left for the checks of the caller. */
export function blankClass(blank: Blank, classes: number): number {
  if (blank === 'first') return 0
  return blank === 'last' ? classes - 1 : blank
}
