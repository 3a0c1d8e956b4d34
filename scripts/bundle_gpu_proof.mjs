import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from './bundle_program.mjs'

const proof = fileURLToPath(new URL('../packages/cudnn/proof/', import.meta.url))

/** Puts the proof into `folder` as gpu_proof.mjs, which needs nothing but Node.js, and torch_peer.py beside it. */
export function bundleGpuProof(folder) {
  bundleProgram(join(proof, 'main.ts'), join(folder, 'gpu_proof.mjs'), { vitest: join(proof, 'test_runner.ts') })
  copyFileSync(join(proof, 'torch_peer.py'), join(folder, 'torch_peer.py'))
}
