import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Bundles a program of this package, for a process or a worker thread of its own. */
export async function bundleProgram(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [`${here}${entry}`],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    alias: Object.fromEntries(
      ['canonical', 'checkpoint'].map((name) => [`@cudnn-rnn/${name}`, `${here}../../${name}/src/index.ts`]),
    ),
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
  })
}
