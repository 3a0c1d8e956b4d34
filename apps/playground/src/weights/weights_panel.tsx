import { useState } from 'preact/hooks'
import { download } from '../drawing/download.js'
import { FileDrop } from '../drawing/file_drop.js'
import { HeatKey, HeatMap } from '../drawing/heat_map.js'
import { useWorker } from '../worker/use_worker.js'
import example from '../../../../fixtures/interop/pytorch/tagger.safetensors?url&no-inline'
import kerasExample from '../../../../fixtures/interop/guide/sine.keras?url&no-inline'
import {
  type InputKind,
  type PictureGroup,
  type WeightsMessage,
  type WeightsRequest,
  WHOLE,
} from './weights_messages.js'

const start = () => new Worker(new URL('./weights_worker.ts', import.meta.url), { type: 'module' })

type Opened = Extract<WeightsMessage, { kind: 'opened' }>
type Ran = Extract<WeightsMessage, { kind: 'ran' }>

const FORMATS = {
  safetensors: 'PyTorch names, safetensors',
  npz: 'PyTorch names, npz',
  onnx: 'ONNX, this network',
  keras: 'Keras weights, HDF5',
  flax: 'Flax, msgpack',
  tensorflow: 'TensorFlow checkpoint',
} as const

const INPUTS: Readonly<Record<InputKind, string>> = {
  random: 'random values',
  impulse: 'an impulse',
  text: 'a text',
}

const STEPS = 100

/** Opens a weight file: pictures of its gates, runs, and conversions. */
export function WeightsPanel() {
  const [title, setTitle] = useState('')
  const [opened, setOpened] = useState<Opened>()
  const [network, setNetwork] = useState(0)
  const [groups, setGroups] = useState<readonly PictureGroup[]>([])
  const [ran, setRan] = useState<Ran>()
  const [input, setInput] = useState<InputKind>('random')
  const [text, setText] = useState('Call me Ishmael.')
  const [format, setFormat] = useState<keyof typeof FORMATS>('safetensors')

  const worker = useWorker<WeightsRequest, WeightsMessage>(start, (message) => {
    if (message.kind === 'opened') {
      setOpened(message)
      setNetwork(message.layers === undefined ? 0 : WHOLE)
      if (message.layers === undefined && message.networks[0]?.isModel) worker.begin({ kind: 'show', network: 0 })
    } else if (message.kind === 'shown') setGroups(message.groups)
    else if (message.kind === 'ran') setRan(message)
    else download(message.files)
  })
  const clear = () => {
    setGroups([])
    setRan(undefined)
  }
  const open = (files: readonly File[]) => {
    clear()
    setOpened(undefined)
    setTitle(files.map(({ name }) => name).join(', '))
    worker.begin({ kind: 'open', files })
  }
  const openExample = async (url: string, name: string) => {
    const response = await fetch(url)
    open([new File([await response.arrayBuffer()], name)])
  }
  const choose = (index: number) => {
    clear()
    setNetwork(index)
    if (opened?.networks[index]?.isModel) worker.begin({ kind: 'show', network: index })
  }
  const chosen = opened?.networks[network]

  return (
    <>
      <h2>Open a model or its weights</h2>
      <p>
        PyTorch, Keras, ONNX, safetensors, NumPy, Flax, or both files of a TensorFlow checkpoint. Models of Keras and of
        this library run as a whole; from other files, the recurrent networks run. The file is read in this tab; nothing
        in it is executed.
      </p>
      <FileDrop label="Drop files here, or choose them" multiple onFiles={open} />
      {opened === undefined && !worker.isBusy && (
        <p>
          Or open{' '}
          <button type="button" onClick={() => openExample(example, 'tagger.safetensors')}>
            an example
          </button>{' '}
          of PyTorch’s weights, or{' '}
          <button type="button" onClick={() => openExample(kerasExample, 'sine.keras')}>
            a whole model
          </button>{' '}
          of Keras.
        </p>
      )}
      {worker.isBusy && opened === undefined && (
        <p class="status" role="status">
          Reading {title} …
        </p>
      )}
      {worker.error !== undefined && (
        <p class="error" role="alert">
          {worker.error}
        </p>
      )}
      {opened !== undefined && (
        <>
          <h3>{title}</h3>
          <p class="status" role="status">
            {opened.format}: {opened.networks.length} recurrent {opened.networks.length === 1 ? 'network' : 'networks'},{' '}
            {opened.others.length} other tensors.
          </p>
          {opened.layers !== undefined && <pre class="names scroll">{opened.layers}</pre>}
          {opened.networks.length > 0 && (
            <fieldset class="networks">
              <legend class="muted">Network</legend>
              {opened.layers !== undefined && (
                <label>
                  <input type="radio" name="network" checked={network === WHOLE} onChange={() => choose(WHOLE)} />
                  <span>the whole model</span>
                </label>
              )}
              {opened.networks.map(({ name, description }, index) => (
                <label key={name}>
                  <input type="radio" name="network" checked={index === network} onChange={() => choose(index)} />
                  <span>
                    {name} <span class="muted">{description}</span>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
          {chosen?.notes.map((note) => (
            <p key={note} class="muted">
              {note}
            </p>
          ))}
          {opened.others.length > 0 && (
            <details>
              <summary>Other tensors</summary>
              <ul class="names">
                {opened.others.map((name) => (
                  <li key={name}>{name}</li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
      {(chosen !== undefined || (network === WHOLE && opened !== undefined)) && (
        <>
          <h3>Run it</h3>
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault()
              worker.begin({ kind: 'run', network, input, text, steps: STEPS })
            }}
          >
            <label>
              Input
              <select value={input} onChange={({ currentTarget }) => setInput(currentTarget.value as InputKind)}>
                {Object.entries(INPUTS).map(([kind, words]) => (
                  <option key={kind} value={kind}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            {input === 'text' && (
              <label class="grow">
                Text, a character a step: a 1 in the feature of its code, modulo the input size
                <input class="wide" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
              </label>
            )}
            <button type="submit" disabled={worker.isBusy}>
              Run
            </button>
          </form>
          {ran !== undefined && <Output {...ran} />}
        </>
      )}
      {chosen?.isModel && (
        <>
          <h3>Convert it</h3>
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault()
              worker.begin({ kind: 'convert', network, format })
            }}
          >
            <label>
              Format
              <select value={format} onChange={({ currentTarget }) => setFormat(currentTarget.value as typeof format)}>
                {Object.entries(FORMATS).map(([name, words]) => (
                  <option key={name} value={name}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            <button type="submit" disabled={worker.isBusy}>
              Download
            </button>
          </form>
        </>
      )}
      {groups.length > 0 && (
        <p class="muted">
          The weights of each gate: a row for each unit; a column for each input, or for each unit if they are
          recurrent.
        </p>
      )}
      {groups.map(({ title, gates }) => (
        <section key={title}>
          <h3>{title}</h3>
          <div class="maps">
            {gates.map(({ gate, shape, matrix, limit }) => (
              <figure key={gate}>
                <figcaption>
                  {gate} [{shape.join(' × ')}]
                </figcaption>
                <HeatMap label={`${gate} weights, ${shape.join(' by ')}`} matrix={matrix} limit={limit} />
              </figure>
            ))}
          </div>
          {gates[0] !== undefined && <HeatKey limit={gates[0].limit} />}
        </section>
      ))}
    </>
  )
}

function Output({ output, limit, numbers, milliseconds }: Ran) {
  return (
    <figure class="output">
      <figcaption>
        Output, steps to the right, units downwards; {milliseconds.toFixed(1)} ms for the sequence
      </figcaption>
      {numbers && <p>{numbers.map((value) => value.toPrecision(4)).join(', ')}</p>}
      <HeatMap label="Output of the network" matrix={output} limit={limit} />
      <HeatKey limit={limit} />
    </figure>
  )
}
