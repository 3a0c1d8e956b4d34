import { readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Options } from 'tsup'
import { bundledLicenses } from './bundled_licenses.js'
import { optionalBuiltins } from './optional_builtins.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The declarations that `tsc --build` wrote of each entry, by the entry's name: build.mjs runs it once for all packages. From
 * sources, each package's build would check its files and those below it again, three quarters of the time of all.
 */
function declarationsOf(entry: NonNullable<Options['entry']>): Record<string, string> {
  const named = Array.isArray(entry) ? entry.map((source) => [basename(source, '.ts'), source]) : Object.entries(entry)
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    readonly compilerOptions: { readonly outDir: string; readonly rootDir: string }
  }
  // A package whose tests read fixtures has the repository as its root.
  const folder = join(compilerOptions.outDir, relative(resolve(compilerOptions.rootDir), resolve('.')))
  return Object.fromEntries(named.map(([name, source]) => [name, join(folder, source.replace(/\.ts$/, '.d.ts'))]))
}

/** The code with the names of classes: esbuild makes `var Name = class _Name` of a class that its own body reads, and `_Name` is printed. */
function withClassNames(code: string): string {
  const names = [...code.matchAll(/\b(\w+) ?= ?class _\1\b/g)].map(([, name]) => name)
  return names.length === 0 ? code : code.replaceAll(new RegExp(`\\b_(${names.join('|')})\\b`, 'g'), '$1')
}

/**
 * ESM, CommonJS and declarations of one package, for Node.js and browsers. Dependencies stay imports; development
 * dependencies become part of the build (decision 0010).
 *
 * @param options exceptions, such as `platform: 'node'` for programs.
 * @param threads programs of threads by name, built beside the entries; they have no declarations.
 */
export function packageBuild(options: Options = {}, threads: Readonly<Record<string, string>> = {}) {
  const declared = options.entry ?? { index: 'src/index.ts' }
  const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly name: string }
  return defineConfig({
    format: ['esm', 'cjs'],
    // tsup sets baseUrl, which TypeScript 6 calls deprecated; without their paths the siblings stay imports.
    dts: {
      entry: declarationsOf(declared),
      compilerOptions: { ignoreDeprecations: '6.0', composite: false, rootDir: ROOT, paths: {} },
      banner: '/// <reference lib="esnext.disposable" />',
    },
    // Entries import each other by the package's name: CommonJS, which is not split, has each of them once too.
    external: [new RegExp(`^${name}(/|$)`)],
    platform: 'neutral',
    target: 'es2022',
    removeNodeProtocol: false,
    esbuildOptions: (build) => {
      // Literals within literals, { ...{ a }, ...{ b } }, become one: a microsecond each at run time in Node.js 20.
      build.minifySyntax = true
      // Bundles a package's main file, not its browser variant.
      build.mainFields = ['module', 'main']
      // Node.js prints the whole line of an uncaught error.
      if (options.minifyWhitespace !== false) build.lineLimit = 120
    },
    treeshake: true,
    // Node.js parses every module of an import: a quarter fewer bytes make an import of rnn 3 ms shorter. Names are kept,
    // so that stack traces and errors read as the sources do. Readable lines in all packages would add 1.2 MB to 4.8 MB.
    minifyWhitespace: true,
    clean: true,
    // Names the place of a thread's program in CommonJS too.
    shims: Object.keys(threads).length > 0,
    ...options,
    plugins: [
      ...(options.plugins ?? []),
      { name: 'class-names', renderChunk: (code) => ({ code: withClassNames(code) }) },
    ],
    esbuildPlugins: [
      bundledLicenses(),
      ...(options.platform === 'node' ? [] : [optionalBuiltins()]),
      ...(options.esbuildPlugins ?? []),
    ],
    entry: Array.isArray(declared) ? declared : { ...declared, ...threads },
  })
}
