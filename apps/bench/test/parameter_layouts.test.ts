import { describe, expect, it } from 'vitest'
import { makeOperands } from '../src/operands.js'
import { grouped, PARAMETER_LAYOUTS, parameterLayout, ungrouped } from '../src/parameter_layouts.js'
import { type Workload, workloadDescriptor } from '../src/workload.js'

const workload: Workload = {
  cellMode: 'gru',
  numLayers: 2,
  bidirectional: true,
  batch: 2,
  time: 3,
  inputSize: 4,
  numUnits: 5,
}
const descriptor = workloadDescriptor(workload)
const { canonical } = makeOperands(workload, 1)

describe('parameterLayout', () => {
  it.each(['canonical', 'pytorch'] as const)('is restored from %s bit for bit', (name) => {
    const { fromCanonical, toCanonical } = parameterLayout(name)
    expect(toCanonical?.(descriptor, fromCanonical(descriptor, canonical))).toEqual(canonical)
  })
})

describe('ungrouped', () => {
  it.each(Object.keys(PARAMETER_LAYOUTS) as (keyof typeof PARAMETER_LAYOUTS)[])('undoes grouped for %s', (name) => {
    const groups = parameterLayout(name).fromCanonical(descriptor, canonical)
    expect(ungrouped(grouped(groups))).toEqual(groups)
  })

  it('leaves out names without a group, as those of outputs', () => {
    expect(ungrouped({ output: { data: new Float32Array(1), shape: [1] } })).toEqual([])
  })
})
