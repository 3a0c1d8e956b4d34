import type { Backend, BackendTensor, Rnn, TensorLike } from '@cudnn-rnn/ops'
import { layoutKey, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** Elements before the parameters that mean nothing, as a library's own alignment would leave them. */
const PADDING = 5

/**
 * The reference executor with another opaque layout: padding, then all parameters backwards. It computes the same
 * numbers from a buffer that the reference executor would misread.
 */
export function openReversedLayoutBackend(): Backend {
  const backend = openReferenceBackend()
  return new Proxy<Backend>(backend, {
    get: (target, property) => {
      if (property === 'rnn') return (descriptor: RnnDescriptor) => reversedRnn(target, target.rnn(descriptor))
      const value = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function reversedRnn(backend: Backend, rnn: Rnn): Rnn {
  const layout = layoutKey(rnn.descriptor)
  const paramsSize = rnn.paramsSize + PADDING
  /** A tensor of the layout that holds `values`. */
  const tensorOf = (values: Float32Array): BackendTensor => {
    const tensor = backend.zeros([values.length], { layout })
    backend.ops.assign(tensor, { data: values, shape: [values.length] })
    return tensor
  }
  const valuesOf = async (params: TensorLike) =>
    ('read' in params ? (await params.read()).data : params.data) as Float32Array
  const toOwn = (values: Float32Array) =>
    tensorOf(Float32Array.from({ length: paramsSize }, (_, index) => values[paramsSize - 1 - index] ?? 0))
  const toReference = async (params: TensorLike) => tensorOf((await valuesOf(params)).slice(PADDING).reverse())
  return new Proxy<Rnn>(rnn, {
    get: (target, property) => {
      switch (property) {
        case 'paramsSize':
          return paramsSize
        case 'canonicalToParams':
          return async (canonical: Parameters<Rnn['canonicalToParams']>[0]) =>
            toOwn(await valuesOf(target.canonicalToParams(canonical)))
        case 'paramsToCanonical':
          return async (params: TensorLike) => target.paramsToCanonical(await toReference(params))
        case 'forward':
          return async (inputs: Parameters<Rnn['forward']>[0]) =>
            target.forward({ ...inputs, params: await toReference(inputs.params) })
        case 'backward':
          return async (...args: Parameters<Rnn['backward']>) => {
            const gradients = await target.backward(...args)
            return { ...gradients, params: toOwn(await valuesOf(gradients.params)) }
          }
        default: {
          const value = Reflect.get(target, property, target)
          return typeof value === 'function' ? value.bind(target) : value
        }
      }
    },
  })
}
