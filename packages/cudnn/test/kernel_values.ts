import type { BackendTensor } from '@cudnn-rnn/ops'

export const f32 = (data: Iterable<number>, ...shape: number[]) => {
  const array = Float32Array.from(data)
  return { data: array, shape: shape.length > 0 ? shape : [array.length] }
}

export const i32 = (...data: number[]) => ({ data: Int32Array.from(data), shape: [data.length] })
export const counted = (length: number, value: (k: number) => number, ...shape: number[]) =>
  f32(
    Array.from({ length }, (_, k) => value(k)),
    ...shape,
  )
export const values = async (tensor: BackendTensor) => Array.from((await tensor.read()).data)

export const SEQUENCE = [3, 2, 2] as const
