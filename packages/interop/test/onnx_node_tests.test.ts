import { readdirSync } from 'node:fs'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { elementsOf } from '../src/files/onnx_elements.js'
import { decodeOnnxTensor } from '../src/files/onnx_tensor.js'
import { importWeights, openWeightFile } from '../src/index.js'
import { compute, expectClose } from './fixture.js'
import { runCell } from './run_cell.js'
import { describeWithModels, modelBytes, modelPath } from '../../../scripts/testing/trained_models.mjs'

/** ONNX's own node tests (onnx/backend/test/data/node). GRUs without linear_before_reset run on GRUBlockCell. */
const NODE_TESTS: Readonly<Record<string, 'network' | 'cell'>> = {
  test_gru_batchwise: 'cell',
  test_gru_defaults: 'cell',
  test_gru_seq_length: 'cell',
  test_gru_with_initial_bias: 'cell',
  test_lstm_batchwise: 'network',
  test_lstm_defaults: 'network',
  test_lstm_with_initial_bias: 'network',
  test_lstm_with_peepholes: 'cell',
  test_rnn_seq_length: 'network',
  test_simple_rnn_batchwise: 'network',
  test_simple_rnn_defaults: 'network',
  test_simple_rnn_with_initial_bias: 'network',
}

const INPUT_NAMES = ['X', 'W', 'R', 'B', 'sequence_lens', 'initial_h', 'initial_c', 'P']
/** The tests of the ONNX project compare with rtol 1e-3 and atol 1e-7; theirs are float32 numbers of a NumPy program. */
const TOLERANCE = 1e-6

describeWithModels('importWeights of the node tests of ONNX', () => {
  it.each(Object.entries(NODE_TESTS))('%s: a %s computes the expected outputs', async (name, kind) => {
    const folder = `4_onnx_rnn_node_tests/${name}`
    const given: Record<string, Tensor<FloatArray>> = {}
    const outputs: Tensor<FloatArray>[] = []
    for (const file of readdirSync(modelPath(`${folder}/test_data_set_0`)).sort()) {
      const bytes = modelBytes(`${folder}/test_data_set_0/${file}`)
      // The sequence lengths of the one test that has them are the full length, as int32.
      if (file === 'input_4.pb') continue
      const { dims: shape, ...stored } = decodeOnnxTensor(file, bytes)
      const tensor = { data: elementsOf(file, file, { dims: shape, ...stored }), shape }
      if (file.startsWith('output')) outputs.push(tensor)
      else given[INPUT_NAMES[Number(/\d+/.exec(file)![0])]!] = tensor
    }
    const { X, ...inputs } = given
    const model = await openWeightFile(modelPath(`${folder}/model.onnx`))
    const isBatchMajor = model.onnx!.graph.nodes[0]!.attributes.get('layout')?.i === 1
    const { networks, cells } = await importWeights(model, { inputs })
    await model.close()
    expect([networks.length, cells.length]).toEqual(kind === 'network' ? [1, 0] : [0, 1])

    const x = { data: [...X!.data], shape: X!.shape }
    // Batch-major inputs here have one step, so that only shapes change.
    const input = isBatchMajor ? { data: x.data, shape: [x.shape[1]!, x.shape[0]!, x.shape[2]!] } : x
    const result = kind === 'network' ? await compute(networks[0]!, input) : runCell(cells[0]!, input)
    const finalState = { data: [...outputs.at(-1)!.data], shape: result.h.shape }
    expectClose(result.h, finalState, TOLERANCE)
    if (outputs.length === 2)
      expectClose(result.output, { data: [...outputs[0]!.data], shape: result.output.shape }, TOLERANCE)
  })
})
