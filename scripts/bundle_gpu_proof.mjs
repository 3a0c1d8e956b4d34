import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Puts the proof into `folder` as gpu_proof.mjs, which needs nothing but Node.js, and torch_peer.py beside it. */
export async function bundleGpuProof(folder) {
  await build({
    entryPoints: [join(root, 'packages/cudnn/proof/main.ts')],
    outfile: join(folder, 'gpu_proof.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minify: false,
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url)",
    },
    alias: {
      vitest: join(root, 'packages/cudnn/proof/test_runner.ts'),
      ...Object.fromEntries(
        ['backend', 'canonical', 'reference', 'testing'].map((name) => [
          `@cudnn-rnn/${name}`,
          join(root, `packages/${name}/src/index.ts`),
        ]),
      ),
    },
  })
  copyFileSync(join(root, 'packages/cudnn/proof/torch_peer.py'), join(folder, 'torch_peer.py'))
}
