import { expect, it } from 'vitest'
import type { KerasClass } from '../src/keras/keras_row.js'
import { KERAS_CLASSES, LAYER_TABLE } from '../src/layer_table.js'

const HEAD = `# Layers of Keras

\`importKeras\` reads these classes, \`model.export('keras')\` writes them: classes with → are written as others that compute the same. Beside them it reads LSTM, GRU, SimpleRNN, CuDNNLSTM, CuDNNGRU, RNN of their cells, Bidirectional, SpectralNormalization, TimeDistributed, InputLayer. Functional models are read and written with Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate and, of vectors, Dot. Another class or option is refused by name: ConvLSTM3D, Lambda.

A Sequential or a functional model within a model is read as its layers, also in a TimeDistributed, and so are cells that an RNN has one behind the other, and the sides of a Bidirectional that differ, are such cells or are not merged. Operations of Keras 3 between layers (\`x + 1\`, \`x[:, -1]\`, \`ops.clip(x, 0, 1)\`, \`ops.mean(x, axis=1)\`) are classes here, too; comparisons, \`where\`, \`matmul\`, \`einsum\` over one axis, \`split\`, \`stack\`, \`log1p\`, \`expm1\`, quotients, variances, norms, transposes and the activations of \`keras.ops\` are several of them.

Pictures [T,height,C] are sequences of their columns, films [T,height,width,C] of their pictures: layers in a TimeDistributed read each, and ConvLSTM2D reads films. Class ids [T,columns], such as the characters of words, are numbers here. Masks follow Keras 3, behind attention too; a layer that drops the mask, such as a convolution, takes masked steps for others, which must come last. A layer whose mask depends on the order of calls in Keras is refused, and so is a product, maximum or minimum whose masked steps are read: Keras has other numbers there.

A stateful layer, whose numbers depend on the calls before, is refused, unless \`{ restarts: true }\` lets every call begin with zeros, as after \`reset_states()\`; \`model.stream()\` carries states.

\`npm run test:keras\` draws 1,000 models of two to five of these layers with drawn options, masks and numbers of steps, in files of both formats, and compares their numbers with Keras 3.15's, and again behind an export. Seed 94, 500 of them: 488 equal, 12 refused, 0 other.

Behind an option is its name here. Options without effect in inference (initial values, penalties, names) are left out.

This page is made of the table \`LAYER_TABLE\` in \`packages/layers/src/layer_table.ts\` by \`npx vitest run layer_table.test -u\`. [Contributing](../CONTRIBUTING.md#add-a-layer) states how to add a layer.

| Keras | here | options | weights |
|---|---|---|---|
`

const code = (text: string) => `\`${text}\``

function optionsOf({ options = {}, weights = [] }: KerasClass): string {
  const stated = Object.entries(options).map(([name, { own }]) => code(name) + (own ? ` (${own})` : ''))
  return [
    ...stated,
    ...weights
      .flatMap(({ when = '' }) => (when === '' || when in options ? [] : when))
      .filter(isFirst)
      .map(code),
  ].join(', ')
}

const isFirst = (each: string, at: number, all: readonly string[]) => all.indexOf(each) === at

function line(name: string, here: string, row: KerasClass): string {
  const weights = (row.weights ?? []).flatMap((weight) => (weight.name === undefined ? [] : [weight.name].flat()[0]))
  return `| ${code(name)}${row.isRead ? ' →' : ''} | ${here} | ${optionsOf(row)} | ${weights.join(', ')} |`
}

it('is the page of the classes of Keras', async () => {
  const known = [...LAYER_TABLE].flatMap(([kind, { keras = {} }]) =>
    Object.entries(keras).map(([name, row]) => [name, line(name, code(kind), row)] as const),
  )
  const named = new Set(known.map(([name]) => name))
  const others = [...KERAS_CLASSES].filter(([name]) => !named.has(name))
  const lines = [...known.map(([, text]) => text), ...others.map(([name, row]) => line(name, 'nothing', row))]
  await expect(`${HEAD}${lines.sort().join('\n')}\n`).toMatchFileSnapshot('../../../docs/keras_layers.md')
})
