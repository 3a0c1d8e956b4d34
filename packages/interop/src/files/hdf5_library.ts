import { missingPackage } from '@cudnn-rnn/canonical/rules'
import { IS_LITTLE_ENDIAN } from '@cudnn-rnn/checkpoint/files'
import { unsupported } from '../errors.js'

/** The HDF5 library, compiled to WebAssembly. */
export type Hdf5Library = typeof import('h5wasm')['default']

/**
 * Loads the HDF5 library, an optional peer dependency.
 *
 * @param action the operation that needs it: "read HDF5".
 * @throws Error `ERR_PACKAGE_MISSING` if it is not installed; WeightFileError `ERR_WEIGHTS_UNSUPPORTED` in an engine without
 *   WebAssembly, and on a big-endian processor
 */
export async function loadHdf5(action: string): Promise<Hdf5Library> {
  if (typeof WebAssembly === 'undefined') {
    throw unsupported(
      '(HDF5)',
      `the engine has no WebAssembly (node --jitless turns it off), which is needed to ${action}`,
    )
  }
  // The memory of WebAssembly is little-endian, the arrays over it are not.
  if (!IS_LITTLE_ENDIAN) throw unsupported('(HDF5)', `the processor is big-endian, and the library to ${action} is not`)
  // Within `try`, bundlers take a package that is not installed for an optional one.
  try {
    const { default: library } = await import('h5wasm')
    return library
  } catch (cause) {
    throw missingPackage(action, 'h5wasm', cause)
  }
}
