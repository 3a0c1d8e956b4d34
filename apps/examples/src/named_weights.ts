import type { WeightFile } from '@cudnn-rnn/rnn'

/** Float32 elements of tensors of a file by name. Throws RangeError for a name that the file does not have. */
export function weightReader({ tensors, path }: WeightFile): (name: string) => Promise<Float32Array> {
  return async (name) => {
    const tensor = tensors.find((candidate) => candidate.name === name)
    if (tensor === undefined) throw new RangeError(`Cannot read ${path} as it must hold ${name}: it is another model`)
    return Float32Array.from(await tensor.read())
  }
}
