/**
 * Training of a recurrent classifier by `model.fit`, accelerated and not, on TensorFlow.js's cpu and wasm backends: medians of
 * the time per batch, in rounds that alternate. The rows of docs/bench/tfjs.md.
 *
 *     node packages/tfjs/bench/fit.mjs [--backends cpu,wasm] [--rounds 3] [--gates hardSigmoid,sigmoid] [--layers lstm,gru,simpleRNN]
 */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { accelerate } from '@cudnn-rnn/tfjs'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import * as tf from '@tensorflow/tfjs'
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm'
import { median } from '../../../scripts/bench/statistics.mjs'

const [BATCH, TIME, INPUTS, UNITS, CLASSES] = [32, 100, 64, 128, 10]
const { values } = parseArgs({
  options: {
    backends: { type: 'string', default: 'cpu,wasm' },
    rounds: { type: 'string', default: '3' },
    gates: { type: 'string', default: 'hardSigmoid,sigmoid' },
    layers: { type: 'string', default: 'lstm' },
    accelerated: { type: 'string', default: '20' },
    plain: { type: 'string', default: '1' },
  },
})

tf.env().set('PROD', true)
const resolve = createRequire(import.meta.url).resolve
setWasmPaths(`${dirname(resolve('@tensorflow/tfjs-backend-wasm'))}/`)

const x = () => tf.randomNormal([BATCH, TIME, INPUTS], 0, 1, 'float32', 1)
const y = () => tf.oneHot(tf.range(0, BATCH, 1, 'int32').mod(tf.scalar(CLASSES, 'int32')), CLASSES)

/** @param recurrentActivation of the gates; `simpleRNN` has none. */
function classifier(layer, recurrentActivation) {
  const model = tf.sequential()
  model.add(tf.layers[layer]({ units: UNITS, inputShape: [TIME, INPUTS], recurrentActivation }))
  model.add(tf.layers.dense({ units: CLASSES, activation: 'softmax' }))
  model.compile({ loss: 'categoricalCrossentropy', optimizer: 'adam' })
  return model
}

/** Milliseconds per batch. */
async function fit(model, data, batches) {
  const start = performance.now()
  await model.fit(data.x, data.y, {
    epochs: batches,
    batchSize: BATCH,
    shuffle: false,
    verbose: 0,
    yieldEvery: 'never',
  })
  return (performance.now() - start) / batches
}

const executors = [openCpuBackend(), openCpuBackend({ threads: 1 }), await openWasmBackend()]

async function measure(title, model, data) {
  const times = new Map([['plain', []], ...executors.map(({ reason }) => [reason, []])])
  for (let round = 0; round <= Number(values.rounds); round++) {
    // Round 0 warms up.
    const plain = await fit(model, data, Number(values.plain))
    if (round > 0) times.get('plain').push(plain)
    for (const executor of executors) {
      const acceleration = accelerate(tf, executor)
      const time = await fit(model, data, Number(values.accelerated))
      acceleration.dispose()
      if (round > 0) times.get(executor.reason).push(time)
    }
  }
  const plain = median(times.get('plain'))
  console.log(`${title}: ${plain.toFixed(0)} ms per batch`)
  for (const { reason } of executors) {
    const time = median(times.get(reason))
    console.log(`  ${reason}: ${time.toFixed(1)} ms, ${(plain / time).toFixed(1)} x`)
  }
}

for (const name of values.backends.split(',')) {
  if (!(await tf.setBackend(name))) throw new Error(`TensorFlow.js has no backend ${name}`)
  const data = { x: x(), y: y() }
  for (const layer of values.layers.split(',')) {
    for (const gate of layer === 'simpleRNN' ? ['no gates'] : values.gates.split(',')) {
      await measure(`tfjs-${name}, ${layer}, ${gate}`, classifier(layer, gate), data)
    }
  }
}
