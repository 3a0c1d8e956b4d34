import { defineComponent, h, reactive } from 'vue'
import { estimate } from '../../bench/size_estimate.mjs'
import { data as reports } from './measured_networks.data'

const CELLS = { lstm: 'LSTM', gru: 'GRU', rnn_relu: 'RNN relu', rnn_tanh: 'RNN tanh' }
const PASSES = {
  inference: 'inference',
  training: 'training, forward and backward',
  streaming: 'single steps with carried state',
}
const SIZES = { numUnits: 'units H', inputSize: 'inputs I', batch: 'batch B', time: 'time steps T' }
const MOST = 1e5

/** Choose a network: its estimated time, and the measured networks that are nearest to it. */
export default defineComponent(() => {
  const chosen = reactive({
    ...{ set: 0, cellMode: 'lstm', pass: 'inference', numUnits: 128, inputSize: 64, batch: 1, time: 50 },
    ...{ numLayers: 1, bidirectional: false, threads: 1 },
  })
  const select = (name: string, title: string, options: [unknown, string][]) =>
    h('label', [
      title,
      h(
        'select',
        {
          onChange: ({ target }) => {
            chosen[name] = options[target.selectedIndex][0]
          },
        },
        options.map(([value, text]) => h('option', { selected: chosen[name] === value }, text)),
      ),
    ])
  const number = (name: string, title: string) =>
    h('label', [
      title,
      h('input', {
        ...{ type: 'number', min: 1, max: MOST, value: chosen[name] },
        onInput: ({ target }) => {
          if (target.checkValidity() && target.value !== '') chosen[name] = Number(target.value)
        },
      }),
    ])
  return () => {
    const { processor, networks, errors } = reports[chosen.set]
    // Single steps are measured for one row on one thread.
    const wanted = { ...chosen, ...(chosen.pass === 'streaming' && { batch: 1, threads: 1 }) }
    const { ms, others, nearest } = estimate(networks, wanted)
    const libraries = Object.keys(others)
    const row = (name, times, strong = false) =>
      h(
        'tr',
        [name, times.ms, ...libraries.map((library) => times.others[library])].map((cell, at) =>
          h('td', at === 0 ? cell : h(strong && at === 1 ? 'strong' : 'span', timeText(cell))),
        ),
      )
    return h('div', { class: 'size-calculator' }, [
      h('form', { onSubmit: (event) => event.preventDefault() }, [
        select('cellMode', 'cell', Object.entries(CELLS)),
        ...Object.entries(SIZES).map(([name, title]) => number(name, title)),
        select(
          'numLayers',
          'layers',
          [1, 2, 3, 4].map((count) => [count, String(count)]),
        ),
        select('bidirectional', 'directions', [
          [false, 'one'],
          [true, 'both'],
        ]),
        select('pass', 'pass', Object.entries(PASSES)),
        select(
          'threads',
          'threads',
          [1, 2].map((count) => [count, String(count)]),
        ),
        select(
          'set',
          'processor',
          reports.map(({ title }, index) => [index, title]),
        ),
      ]),
      h('p', { class: 'estimate', 'aria-live': 'polite' }, [
        'About ',
        h('strong', timeText(ms)),
        ` on ${wanted.threads === 1 ? 'one thread' : 'two threads'} of a machine with ${processor}: nine of ten such estimates are within a factor of ${errors[chosen.pass].toFixed(1)}.`,
      ]),
      h('table', [
        h(
          'thead',
          h(
            'tr',
            ['network, B × T × H; H inputs if none are named', 'ours', ...libraries].map((title) => h('th', title)),
          ),
        ),
        h('tbody', [
          row('your size, estimated', { ms, others }, true),
          ...nearest.map((network) => row(nameOf(network), network)),
        ]),
      ]),
    ])
  }
})

function nameOf({ cellMode, batch, time, numUnits, inputSize, numLayers, bidirectional, threads }) {
  return [
    `${CELLS[cellMode]} ${batch}\u00a0×\u00a0${time}\u00a0×\u00a0${numUnits}`,
    inputSize === numUnits ? '' : `inputs ${inputSize}`,
    numLayers === 1 ? '' : `${numLayers} layers`,
    bidirectional ? 'both directions' : '',
    threads === 1 ? '1 thread' : `${threads} threads`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function timeText(ms?: number) {
  if (ms === undefined) return '–'
  const [value, unit] = ms < 1 ? [1e3 * ms, 'µs'] : ms < 1e3 ? [ms, 'ms'] : [ms / 1e3, 's']
  return `${value < 100 ? Number(value.toPrecision(2)) : Math.round(value)}\u00a0${unit}`
}
