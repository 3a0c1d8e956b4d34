// A model of the times of persistent kernels on an H200 for the divisions that the compiler granted. It measures nothing:
// docs/gpu has the times of PyTorch and of cuDNN that it compares with.
const STEPS = 70

/** Microseconds and rates of `stepMicroseconds`; then of a node of a graph, of cuBLAS's products, and TFLOP/s of these. */
const CONSTANTS = {
  optimistic: {
    ...{ clusterTrip: 0.3, clusterStores: 3.3, clusterSums: 0.25 },
    ...{ trip: 0.55, fixed: 0.15, pass: 0.1, cache: 5.5, fma: 0.8, tensorCores: 0.55, node: 1.2 },
    ...{ products: { float32: 52, tf32: 400, bfloat16: 650 }, leastProduct: 4 },
  },
  expected: {
    ...{ clusterTrip: 0.45, clusterStores: 2.4, clusterSums: 0.4 },
    ...{ trip: 0.75, fixed: 0.25, pass: 0.1, cache: 4, fma: 0.65, tensorCores: 0.4, node: 1.6 },
    ...{ products: { float32: 48, tf32: 330, bfloat16: 550 }, leastProduct: 5 },
  },
  pessimistic: {
    ...{ clusterTrip: 0.65, clusterStores: 1.6, clusterSums: 0.6 },
    ...{ trip: 1.1, fixed: 0.4, pass: 0.1, cache: 3, fma: 0.5, tensorCores: 0.28, node: 2.2 },
    ...{ products: { float32: 42, tf32: 250, bfloat16: 420 }, leastProduct: 7 },
  },
}

const gatesOf = ({ cellMode }) => (cellMode === 'lstm' ? 4 : 3)
const bytesOf = ({ precision }) => (precision === 'bfloat16' ? 2 : 4)

/** Microseconds of a product of cuBLAS for all steps. */
function product({ products, leastProduct }, cell) {
  const { H, B, precision } = cell
  const gates = gatesOf(cell)
  const multiplied = (2 * STEPS * B * gates * H * H) / products[precision] / 1e6
  const moved = (gates * H * H * bytesOf(cell) + STEPS * B * (gates + 1) * H * 4) / 3.5e6
  return Math.max(leastProduct, multiplied * 1.05 + 2, moved)
}

/** Milliseconds of inference and of a training pass. */
function modelled(constants, cell, division) {
  const { H, B } = cell
  const gates = gatesOf(cell)
  const row = STEPS * B * H * 4
  // The weights are read once.
  const weights = (gates * H * H * 4) / 3e6
  const loop = (isBackward) => STEPS * division.step(isBackward, constants) + weights
  const forward = product(constants, cell) + loop(false) + 4 * constants.node + row / 2.5e6
  const kept = (row * (gates + 1) * 0.3) / 3.5e6
  const read = (STEPS * B * H * (gates + 2) * 4 * 0.5) / 3.5e6
  const backward = 3 * product(constants, cell) + loop(true) + read + 7 * constants.node + (row * gates) / 2.5e6
  return { forward: forward / 1e3, training: (forward + kept + backward) / 1e3 }
}

/** Cells of a report of the validation with the milliseconds of the executor by cuDNN and of PyTorch. */
function measuredCells(report) {
  const cells = new Map()
  let head
  for (const line of report.split('\n')) {
    const [, cellMode, precision] = /^### (LSTM|GRU), 1 layer, (\w+)/.exec(line) ?? []
    if (cellMode !== undefined) head = `${cellMode.toLowerCase()} ${precision}`
    if (line.startsWith('## ')) head = undefined
    const numbers = line.split('|').slice(1, -1).map(Number)
    if (head === undefined || numbers.length !== 8 || numbers.some(Number.isNaN)) continue
    const [H, B, forward, torchForward, , training, torchTraining] = numbers
    cells.set(`${head} ${H} ${B}`, {
      cudnn: { forward, training },
      torch: { forward: torchForward, training: torchTraining },
    })
  }
  return cells
}

const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)

/**
 * The ratios of the executor's times to PyTorch's: for each set of constants, each cell and pass the least of cuDNN's, as
 * `report` has it, and of the divisions that the compiler granted. `divided`: cells with their `granted` divisions.
 */
export function modelOf(divided, report) {
  const measured = measuredCells(report)
  const cells = divided.map(({ cell, granted }) => {
    const { cudnn, torch } = measured.get(`${cell.cellMode} ${cell.precision} ${cell.H} ${cell.B}`)
    const ratiosOf = (constants) => {
      const times = granted.map((division) => modelled(constants, cell, division))
      const least = (pass) => Math.min(cudnn[pass], ...times.map((time) => time[pass])) / torch[pass]
      return { forward: least('forward'), training: least('training') }
    }
    const ratios = Object.fromEntries(Object.entries(CONSTANTS).map(([name, constants]) => [name, ratiosOf(constants)]))
    return { cell, isGranted: granted.length > 0, ratios }
  })
  const means = Object.keys(CONSTANTS).map((name) => {
    const of = (precision) =>
      geometricMean(
        cells.flatMap(({ cell, ratios }) =>
          precision === undefined || cell.precision === precision ? Object.values(ratios[name]) : [],
        ),
      )
    return { name, all: of(), float32: of('float32'), bfloat16: of('bfloat16'), tf32: of('tf32') }
  })
  return { cells, means }
}
