import { codedRangeError } from '../coded_error.js'

/** Throws RangeError `ERR_INVALID_OPTION` if `size` is not divisible by the number of groups. */
export function checkDivisible(action: string, option: string, size: number, groups: number): void {
  if (size % groups === 0) return
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as ${option} must be divisible by numberOfGroups ${groups}: current value is ${size}`,
    { option, value: size },
  )
}
