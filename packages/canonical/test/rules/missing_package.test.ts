import { expect, it } from 'vitest'
import { missingPackage } from '../../src/rules/index.js'

it.each([
  ["Cannot find package 'h5wasm' imported from /app/index.js\nRequire stack: …", ''],
  [
    "Cannot find package 'zlib' imported from /app/h5.js\nRequire stack: …",
    ": Cannot find package 'zlib' imported from /app/h5.js",
  ],
])(
  'missingPackage names the package, the command that installs it, and another cause than that it is absent: %s',
  (why, shown) => {
    const cause = new Error(why)
    expect(missingPackage('read HDF5', 'h5wasm', cause)).toMatchObject({
      code: 'ERR_PACKAGE_MISSING',
      packageName: 'h5wasm',
      cause,
      message: `Cannot read HDF5 as the optional package h5wasm must be installed (npm install h5wasm)${shown}`,
    })
  },
)
