// Estimates the time of a network from the measured networks of docs/bench/results. Also runs in the reader's browser.
const GATES = { lstm: 4, gru: 3, rnn_relu: 1, rnn_tanh: 1 }
const NEAREST = 3

/** The networks of a report in float32 as `{ …workload, threads, pass, ms, others: { library: ms } }`. */
export function measuredNetworks({ implementations, comparisons }) {
  const titles = new Map(implementations.map(({ name, title }) => [name, title]))
  const executor = implementations.find(({ kind }) => kind === 'executor').name
  const single = comparisons.filter(({ results }) => results.every(({ series }) => series.precision === 'float32'))
  return single.flatMap(({ workload, results }) => {
    const measured = results.filter(({ outcome }) => outcome.status === 'measured')
    const medians = new Map(measured.map(({ series, outcome }) => [series.implementation, outcome.spread.median]))
    const ms = medians.get(executor)
    medians.delete(executor)
    const [{ series }] = results
    const others = Object.fromEntries([...medians].map(([name, median]) => [titles.get(name), median]))
    return ms === undefined ? [] : [{ ...workload, threads: series.threads, pass: series.pass, ms, others }]
  })
}

/** `{ ms, others, nearest }`: the times of the nearest networks of the same pass, scaled by the model of `scaleOf`. */
export function estimate(networks, wanted) {
  const nearest = networks
    .filter(({ pass }) => pass === wanted.pass)
    .map((network) => ({ network, distance: distance(network, wanted) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAREST)
  const scaled = (timeOf) => {
    const known = nearest.filter(({ network }) => timeOf(network) !== undefined)
    const weights = known.map(({ distance }) => (distance + 0.2) ** -2)
    const logarithms = known.map(({ network }) => Math.log(timeOf(network) / scaleOf(network)))
    const sum = logarithms.reduce((total, logarithm, index) => total + logarithm * weights[index], 0)
    return scaleOf(wanted) * Math.exp(sum / weights.reduce((total, weight) => total + weight, 0))
  }
  const libraries = new Set(nearest.flatMap(({ network }) => Object.keys(network.others)))
  return {
    ms: scaled(({ ms }) => ms),
    others: Object.fromEntries([...libraries].map((name) => [name, scaled(({ others }) => others[name])])),
    nearest: nearest.map(({ network }) => network),
  }
}

/** The factor that nine of ten estimates stay within, if each network of the pass is estimated from the others. */
export function estimateError(networks, pass) {
  const same = networks.filter((network) => network.pass === pass)
  const errors = same.map((network) => {
    const { ms } = estimate(
      same.filter((other) => other !== network),
      network,
    )
    return Math.exp(Math.abs(Math.log(ms / network.ms)))
  })
  return errors.sort((a, b) => a - b)[Math.floor(0.9 * errors.length)]
}

/** Milliseconds of a call, of T calls in single steps, and of both passes of training. */
const CALLS = { inference: () => 5e-3, streaming: (time) => 5e-3 * time, training: () => 5e-2 }

/** A model of the time of a network, right but for a factor: its calls, 0.3 µs for a step of a layer, 100 GFLOP/s. */
function scaleOf({ cellMode, numLayers, bidirectional, batch, time, inputSize, numUnits, pass }) {
  const directions = bidirectional ? 2 : 1
  const passes = pass === 'training' ? 3 : 1
  const columns = inputSize + (numLayers - 1) * directions * numUnits + numLayers * numUnits
  const operations = 2 * time * batch * GATES[cellMode] * numUnits * columns * directions * passes
  return CALLS[pass](time) + 3e-4 * time * numLayers * directions * passes + operations / 1e8
}

/** Sizes are compared by their ratios; units weigh most, as they decide which matrices fit a cache. */
function distance(a, b) {
  const apart = (left, right) => Math.abs(Math.log2(left / right))
  return (
    apart(a.numUnits, b.numUnits) +
    0.7 * apart(a.batch, b.batch) +
    0.3 * apart(a.time, b.time) +
    0.3 * apart(a.inputSize / a.numUnits, b.inputSize / b.numUnits) +
    0.7 * Number(GATES[a.cellMode] !== GATES[b.cellMode]) +
    0.3 * Number(a.cellMode !== b.cellMode) +
    2 * Number(a.threads !== b.threads) +
    0.4 * Number(a.numLayers !== b.numLayers) +
    0.4 * Number(a.bidirectional !== b.bidirectional)
  )
}
