import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from './bundle_program.mjs'

const app = fileURLToPath(new URL('../../apps/gpu_validation/', import.meta.url))

/** Writes gpu_validation.mjs, which needs only Node.js, and torch_baseline.py to `folder`. */
export async function bundleGpuValidation(folder) {
  const vitest = join(app, 'src/test_runner.ts')
  await bundleProgram(join(app, 'src/main.ts'), join(folder, 'gpu_validation.mjs'), { alias: { vitest } })
  copyFileSync(join(app, 'torch_baseline.py'), join(folder, 'torch_baseline.py'))
}
