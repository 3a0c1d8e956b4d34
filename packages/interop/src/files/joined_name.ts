import { corrupt } from '../errors.js'

/** Names of tensors are paths of a few short names. A file can make one long name a part of many: they would fill memory. */
export const LONGEST_NAME = 4096

/** A name within the object `outer`. Throws WeightFileError `ERR_WEIGHTS_CORRUPT` for one that is too long. */
export function joinedName(path: string, outer: string, separator: '/' | '.', name: string): string {
  const joined = outer === '' ? name : `${outer}${separator}${name}`
  if (joined.length <= LONGEST_NAME) return joined
  throw corrupt(path, `a name in it is longer than ${LONGEST_NAME}: ${joined.slice(0, 64)}…`)
}
