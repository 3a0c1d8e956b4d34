import { fileURLToPath } from 'node:url'
import { defineConfig, type Options } from 'tsup'
import { bundledLicenses } from './bundled_licenses.js'
import { optionalBuiltins } from './optional_builtins.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** A private package that `canonical` exports names of: they are declared in the build. */
const PATHS = { '@cudnn-rnn/arguments': [`${ROOT}packages/arguments/src/index.ts`] }

/** Declarations are three quarters of a build's time. `build.mjs --without-declarations` leaves them out. */
const hasDeclarations = process.env['CUDNN_RNN_DECLARATIONS'] !== '0'

/**
 * ESM, CommonJS and declarations of one package, for Node.js and browsers. Dependencies stay imports; development
 * dependencies become part of the build (decision 0010).
 *
 * @param options exceptions, such as `platform: 'node'` for programs.
 * @param threads programs of threads by name, built beside the entries; they have no declarations.
 */
export function packageBuild(options: Options = {}, threads: Readonly<Record<string, string>> = {}) {
  const declared = options.entry ?? { index: 'src/index.ts' }
  return defineConfig({
    format: ['esm', 'cjs'],
    // tsup sets baseUrl, which TypeScript 6 calls deprecated; without their paths the siblings stay imports.
    dts: hasDeclarations && {
      entry: declared,
      compilerOptions: { ignoreDeprecations: '6.0', composite: false, rootDir: ROOT, paths: PATHS },
      banner: '/// <reference lib="esnext.disposable" />',
    },
    platform: 'neutral',
    target: 'es2022',
    removeNodeProtocol: false,
    esbuildOptions: (build) => {
      // Bundles a package's main file, not its browser variant.
      build.mainFields = ['module', 'main']
      // Node.js prints the whole line of an uncaught error.
      build.lineLimit = 120
    },
    treeshake: true,
    // Node.js parses every module of an import: a quarter fewer bytes make an import of rnn 3 ms shorter. Names are kept,
    // so that stack traces and errors read as the sources do.
    minifyWhitespace: true,
    clean: true,
    // Names the place of a thread's program in CommonJS too.
    shims: Object.keys(threads).length > 0,
    ...options,
    esbuildPlugins: [
      bundledLicenses(),
      ...(options.platform === 'node' ? [] : [optionalBuiltins()]),
      ...(options.esbuildPlugins ?? []),
    ],
    entry: Array.isArray(declared) ? declared : { ...declared, ...threads },
  })
}
