import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { estimateError, measuredNetworks } from '../../bench/size_estimate.mjs'
import { setTitle } from '../../bench/stored_results.mjs'

const results = fileURLToPath(new URL('../../../../docs/bench/results/', import.meta.url))

/** The published results, for the calculator. */
export default {
  load() {
    const reports = readdirSync(results)
      .filter((name) => /_avx.*\.json$/.test(name))
      .sort()
      .reverse()
    return reports.map((name) => {
      const report = JSON.parse(readFileSync(results + name, 'utf8'))
      const networks = measuredNetworks(report)
      const passes = ['inference', 'training', 'streaming']
      return {
        title: setTitle(report.instructionSet),
        processor: report.machine.processor,
        networks: networks.map(rounded),
        errors: Object.fromEntries(passes.map((pass) => [pass, estimateError(networks, pass)])),
      }
    })
  },
}

function rounded({ ms, others, ...network }) {
  const digits = (value: number) => Number(value.toPrecision(4))
  return {
    ...network,
    ms: digits(ms),
    others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, digits(Number(value))])),
  }
}
