import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { estimate, estimateError, measuredNetworks } from '../bench/size_estimate.mjs'

const results = fileURLToPath(new URL('../../../docs/bench/results/', import.meta.url))
const reports = readdirSync(results)
  .filter((name) => name.includes('_avx'))
  .map((name) => JSON.parse(readFileSync(results + name, 'utf8')))

const network = (rest) => ({
  ...{ cellMode: 'lstm', numLayers: 1, bidirectional: false, batch: 1, time: 10, inputSize: 64, numUnits: 64 },
  ...{ threads: 1, pass: 'inference', ms: 1, others: { PyTorch: 2 }, ...rest },
})

describe('estimate', () => {
  it('is the measured time of a network alone, and that of the same pass', () => {
    const networks = [network({}), network({ pass: 'training', ms: 7 })]
    const { ms, others, nearest } = estimate(networks, network({}))
    expect([ms, others.PyTorch]).toEqual([expect.closeTo(1), expect.closeTo(2)])
    expect(nearest).toEqual([networks[0]])
  })

  it('grows with each size', () => {
    const networks = reports.map(measuredNetworks)[0]
    const wanted = network({ batch: 8, time: 50, numUnits: 100, inputSize: 100 })
    const { ms } = estimate(networks, wanted)
    for (const larger of [{ batch: 64 }, { time: 500 }, { numUnits: 400, inputSize: 400 }, { numLayers: 4 }])
      expect(estimate(networks, { ...wanted, ...larger }).ms).toBeGreaterThan(2 * ms)
  })
})

it('measuredNetworks has every network of the published results in float32 with times of other libraries', () => {
  expect(reports.length).toBeGreaterThan(1)
  for (const report of reports) {
    const networks = measuredNetworks(report)
    const single = report.comparisons.filter(({ id }) => !id.startsWith('reduced-'))
    expect(networks).toHaveLength(single.length)
    for (const { ms, others, pass } of networks) {
      expect(ms).toBeGreaterThan(0)
      if (pass !== 'streaming') expect(Object.keys(others)).toContain('PyTorch')
    }
  }
})

it.each(['inference', 'training', 'streaming'])('estimateError of %s states a factor', (pass) => {
  for (const report of reports) {
    const error = estimateError(measuredNetworks(report), pass)
    expect(error).toBeGreaterThan(1)
    expect(error).toBeLessThan(3)
  }
})
