/**
 * For the `.catch` of an `import()`: turns the failure to load an optional peer dependency into an error that names the
 * command which installs it.
 *
 * @param action what needs the package: "read HDF5".
 * @returns throws an Error with `code` `ERR_PACKAGE_MISSING`, `packageName` and the failure as its `cause`
 * @example
 * ```ts
 * import { missingPackage } from '@cudnn-rnn/canonical'
 *
 * const none = Promise.reject(new Error("Cannot find package 'h5wasm'"))
 * await none.catch(missingPackage('read HDF5', 'h5wasm')).catch((error) => console.log(error.code)) // ERR_PACKAGE_MISSING
 * ```
 */
export function missingPackage(action: string, packageName: string): (cause: unknown) => never {
  return (cause) => {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    const message = `Cannot ${action} as the optional package ${packageName} must be installed (npm install ${packageName}): ${reason}`
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_PACKAGE_MISSING', packageName })
  }
}
