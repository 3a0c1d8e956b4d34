import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Holds the baselines' manifest and lockfile; outside the workspace, so that only a benchmark pays for 540 MB of baselines. */
const FOLDER = fileURLToPath(new URL('../baselines/', import.meta.url))

/** A baseline's CommonJS module from the folder of the baselines; `Surface` is the part of it that is used. */
export function requireBaseline<Surface>(name: string): Surface {
  return createRequire(`${FOLDER}package.json`)(name) as Surface
}

/** The exact version of a baseline, from its own manifest. */
export function baselineVersion(name: string): string {
  return requireBaseline<{ version: string }>(`${FOLDER}node_modules/${name}/package.json`).version
}

/** Installs the baselines if they are not yet. Returns why that failed, or undefined. */
export function installBaselines(announce: (line: string) => void): string | undefined {
  if (existsSync(`${FOLDER}node_modules/.package-lock.json`)) return undefined
  announce('Installing the baselines once (ONNX Runtime and TensorFlow.js, about 540 MB) …')
  // Without scripts: ONNX Runtime's would download CUDA, which nothing here uses.
  const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  return status === 0 ? undefined : `npm ci in apps/bench/baselines failed: ${stderr?.trim() ?? 'npm not found'}`
}
