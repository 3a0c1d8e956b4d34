import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { defectsOfGuide } from '../cluster_files.mjs'

const guide = readFileSync(new URL('../../docs/guide/cluster.md', import.meta.url), 'utf8')

it('the job files of the guide have the fields and types of their formats', () => {
  expect(defectsOfGuide(guide)).toEqual([])
})

it.each([
  ['slotsPerWorker: 1', 'slotsPerWorker: one', /slotsPerWorker must be an integer: it is "one"/],
  ['mpiImplementation', 'implementation', /spec\.implementation is not known/],
  ['kind: MPIJob', 'kind: Job', /kind must be one of MPIJob/],
  ['    Launcher:', '    Starter:', /mpiReplicaSpecs must have Launcher/],
  ['cpu: 2', 'cpu: two', /resources\.limits\.cpu must be a quantity/],
  ['-n, "4"', '-n, "5"', /more ranks than slots/],
  ['kind: PyTorchJob', 'kind: TorchJob', /pytorch_job\.yaml: kind must be one of PyTorchJob/],
  ['name: pytorch', 'name: torch', /Master must have a container with the name pytorch/],
  ['nvidia.com/gpu: 1', 'nvidia.com/gpu: one', /limits\.nvidia\.com\/gpu must be a quantity/],
  ['set -euo pipefail', 'if true', /train\.sh: .*syntax error/],
  ['--kill-on-bad-exit=1 ', '', /srun must have --kill-on-bad-exit/],
])('finds %s changed to %s', (from, to, message) => {
  expect(guide).toContain(from)
  expect(defectsOfGuide(guide.replace(from, to)).join('\n')).toMatch(message)
})
