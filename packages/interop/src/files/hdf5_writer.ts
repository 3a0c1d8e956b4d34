import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { loadHdf5 } from './hdf5_library.js'

/** Files open at the same time have their own names in the library's memory. */
let filesWritten = 0

/** An HDF5 file of variables by their paths, `layers/dense/vars/0` for example. */
export async function encodeHdf5Variables(variables: ReadonlyMap<string, Tensor<FloatArray>>): Promise<Uint8Array> {
  const h5wasm = await loadHdf5('write HDF5')
  const { FS } = await h5wasm.ready
  const name = `/export_${filesWritten++}.weights.h5`
  const file = new h5wasm.File(name, 'w')
  try {
    for (const [path, { data, shape }] of variables) {
      const segments = path.split('/')
      const own = segments.pop() ?? ''
      let group: InstanceType<typeof h5wasm.Group> = file
      for (const segment of segments) {
        const existing = group.get(segment)
        group = existing instanceof h5wasm.Group ? existing : group.create_group(segment)
      }
      const dtype = data instanceof Float64Array ? '<d' : '<f'
      group.create_dataset({ name: own, data, shape: [...shape], dtype })
    }
    file.close()
    return FS.readFile(name)
  } finally {
    FS.unlink(name)
  }
}
