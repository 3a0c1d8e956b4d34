import { thrownMessage } from './described_value.js'
/**
 * The error of an `import()` that failed to load an optional peer dependency; its message names the command that installs it.
 *
 * @param action the operation that needs the package: "read HDF5".
 * @param cause why it could not be loaded.
 * @returns an Error with `code` `ERR_PACKAGE_MISSING` and `packageName`
 */
export function missingPackage(
  action: string,
  packageName: string,
  cause: unknown,
): Error & { readonly code: 'ERR_PACKAGE_MISSING'; readonly packageName: string } {
  const reason = thrownMessage(cause).split('\n')[0]
  // The message states its absence already.
  const detail = /Cannot find (package|module)/.test(reason) && reason.includes(packageName) ? '' : `: ${reason}`
  const message = `Cannot ${action} as the optional package ${packageName} must be installed (npm install ${packageName})${detail}`
  return Object.assign(new Error(message, { cause }), { code: 'ERR_PACKAGE_MISSING' as const, packageName })
}
