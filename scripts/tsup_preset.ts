import { defineConfig, type Options } from 'tsup'

/**
 * ESM, CommonJS and declarations of one package. Dependencies stay imports.
 *
 * @param options what differs from the rule, `platform: 'node'` for packages that need Node.js.
 */
export function packageBuild(options: Options = {}) {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    // tsup sets baseUrl, which TypeScript 6 calls deprecated; without paths the siblings stay imports.
    dts: { compilerOptions: { ignoreDeprecations: '6.0', composite: false, paths: {} } },
    platform: 'neutral',
    target: 'es2022',
    sourcemap: true,
    treeshake: true,
    clean: true,
    ...options,
  })
}
