import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Bundles a program in TypeScript, with the packages it imports, into one file that Node.js runs by itself. */
export function bundleProgram(entry, outfile, alias = {}) {
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url)",
    },
    alias: {
      ...alias,
      '@cudnn-rnn/cudnn/validation': join(root, 'packages/cudnn/src/validation.ts'),
      ...Object.fromEntries(
        ['backend', 'canonical', 'conformance', 'cudnn', 'executor-kit', 'reference'].map((name) => [
          `@cudnn-rnn/${name}`,
          join(root, `packages/${name}/src/index.ts`),
        ]),
      ),
    },
  })
}
