import type { WeightFile } from '@cudnn-rnn/rnn'
import { codedRangeError } from './coded_error.js'

/** Float32 elements of tensors of a file by name. Throws RangeError `ERR_OTHER_MODEL` for a name that the file does not have. */
export function weightReader({ tensors, path }: WeightFile): (name: string) => Promise<Float32Array> {
  return async (name) => {
    const tensor = tensors.find((candidate) => candidate.name === name)
    if (tensor === undefined) {
      const message = `Cannot read ${path} as it must hold ${name}: it is another model. Give the file that --help names.`
      throw codedRangeError('ERR_OTHER_MODEL', message, { path, tensorName: name })
    }
    return Float32Array.from(await tensor.read())
  }
}
