import { expect, it } from 'vitest'
import { missingPackage } from '../../src/rules/index.js'

it('missingPackage names the package, the command that installs it, and why it could not be loaded', () => {
  const cause = new Error("Cannot find package 'h5wasm' imported from /app/index.js\nRequire stack: …")
  expect(missingPackage('read HDF5', 'h5wasm', cause)).toMatchObject({
    code: 'ERR_PACKAGE_MISSING',
    packageName: 'h5wasm',
    cause,
    message:
      "Cannot read HDF5 as the optional package h5wasm must be installed (npm install h5wasm): Cannot find package 'h5wasm' imported from /app/index.js",
  })
})
