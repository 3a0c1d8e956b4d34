import { missingPackage } from '@cudnn-rnn/canonical'

/** The HDF5 library, compiled to WebAssembly. */
export type Hdf5Library = typeof import('h5wasm')['default']

/**
 * Loads the HDF5 library, an optional peer dependency.
 *
 * @param action the operation that needs it: "read HDF5".
 * @throws Error `ERR_PACKAGE_MISSING` where it is not installed
 */
export async function loadHdf5(action: string): Promise<Hdf5Library> {
  // Within `try`, bundlers take a package that is not installed for an optional one.
  try {
    const { default: library } = await import('h5wasm')
    return library
  } catch (cause) {
    throw missingPackage(action, 'h5wasm', cause)
  }
}
