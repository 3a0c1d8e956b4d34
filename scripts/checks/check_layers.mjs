// `pnpm layers`: manifests, project references and imports agree with layers.json, and nothing runs in a circle.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { layerViolations } from './layer_rules.mjs'
import { readJson, workspacePackages } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const layers = readJson(join(root, 'scripts/layers.json'))
const violations = layerViolations(root, layers)
for (const violation of violations) console.error(violation)
console.log(`Layers: ${workspacePackages(root, layers).length} packages, ${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
