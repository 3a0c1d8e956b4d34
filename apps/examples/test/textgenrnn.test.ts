import { readFileSync } from 'node:fs'
import { openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { writeLine } from '../src/text/text_command.js'
import { BOUNDARY, Textgenrnn } from '../src/text/textgenrnn.js'
import { describeWithModels, modelPath } from '../../../scripts/testing/trained_models.mjs'

const FOLDER = '3_textgenrnn_keras_CuDNNLSTM'

describeWithModels('Textgenrnn', () => {
  const open = async () => {
    const backend = await openBackend('auto')
    const model = await Textgenrnn.open(
      backend,
      modelPath(`${FOLDER}/textgenrnn_weights.hdf5`),
      modelPath(`${FOLDER}/tg_vocab.json`),
    )
    return { backend, model }
  }

  it('gives 607 characters of headlines a mean NLL of 1.8722 nats', async () => {
    const { backend, model } = await open()
    const lines = readFileSync(modelPath(`${FOLDER}/hacker_news_first40.txt`), 'utf8')
      .split('\n')
      .slice(1, 21)
    let nll = 0
    let count = 0
    for (const line of lines) {
      const ids = model.encode([BOUNDARY, ...line, BOUNDARY])
      const texts = ids.slice(1).map((_, index) => ids.slice(0, index + 1))
      for (const [index, probabilities] of (await model.probabilities(texts)).entries()) {
        nll -= Math.log(probabilities[ids[index + 1]])
        count++
      }
    }
    model.dispose()
    backend.dispose()
    expect(count).toBe(607)
    expect(Math.abs(nll / count - 1.8722)).toBeLessThanOrEqual(0.0005)
  })

  it('writes the greedy headline that its weights are known for', async () => {
    const { backend, model } = await open()
    const text = await writeLine(model, '', (probabilities) => probabilities.indexOf(Math.max(...probabilities)))
    model.dispose()
    backend.dispose()
    expect(text).toContain('[Specific] Can someone please remove the state of the state')
  })
})
