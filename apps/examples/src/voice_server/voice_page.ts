/** Takes samples from the microphone in the thread of the browser's audio, and passes them on as 16-bit integers. */
const RECORDER = `
class Recorder extends AudioWorkletProcessor {
  constructor() {
    super()
    this.samples = new Int16Array(512)
    this.filled = 0
  }
  process([[input]]) {
    for (const value of input ?? []) {
      this.samples[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(value * 32768)))
      if (this.filled < this.samples.length) continue
      this.port.postMessage(this.samples.slice().buffer)
      this.filled = 0
    }
    return true
  }
}
registerProcessor('recorder', Recorder)
`

/** The page that shows speech live. It needs no network but its own server. */
export function voicePage(): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Voice activity</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; --speech: #1a7f5a; }
  body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
  canvas { width: 100%; height: 10rem; border: 1px solid #8888; border-radius: .5rem; }
  button { font: inherit; padding: .4rem 1rem; }
  #state { display: inline-block; margin-left: 1rem; font-weight: 600; }
  #state.speech { color: var(--speech); }
  #log { font-variant-numeric: tabular-nums; padding-left: 1.2rem; }
</style>
<h1>Voice activity</h1>
<p><button id="toggle">Start the microphone</button><span id="state" role="status">idle</span></p>
<canvas id="chart" width="1320" height="320" aria-label="probability of speech in the last 20 seconds"></canvas>
<ol id="log"></ol>
<script type="module">
const toggle = document.querySelector('#toggle')
const state = document.querySelector('#state')
const log = document.querySelector('#log')
const chart = document.querySelector('#chart')
const context = chart.getContext('2d')
const probabilities = []
const SHOWN = 625
let session

function show(text, isSpeech = false) {
  state.textContent = text
  state.classList.toggle('speech', isSpeech)
}

function draw() {
  context.clearRect(0, 0, chart.width, chart.height)
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--speech')
  const width = chart.width / SHOWN
  for (const [index, value] of probabilities.entries()) {
    const height = value * chart.height
    context.globalAlpha = value >= 0.5 ? 1 : 0.35
    context.fillRect(index * width, chart.height - height, width, height)
  }
}

function receive(event) {
  if (event.type === 'probability') {
    probabilities.push(event.probability)
    if (probabilities.length > SHOWN) probabilities.shift()
    requestAnimationFrame(draw)
    return
  }
  if (event.type === 'error') return show('error: ' + event.code)
  const item = document.createElement('li')
  item.textContent = (event.type === 'speech_start' ? 'speech from ' : 'silence from ') + event.time.toFixed(2) + ' s'
  log.prepend(item)
  show(event.type === 'speech_start' ? 'speech' : 'silence', event.type === 'speech_start')
}

async function start() {
  const media = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: false } })
  // The browser resamples to the rate of the model.
  const audio = new AudioContext({ sampleRate: 16000 })
  const recorder = URL.createObjectURL(new Blob([${JSON.stringify(RECORDER)}], { type: 'text/javascript' }))
  await audio.audioWorklet.addModule(recorder)
  URL.revokeObjectURL(recorder)
  const node = new AudioWorkletNode(audio, 'recorder', { numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit' })
  const address = new URL('/stream?probabilities=1', location.href)
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new WebSocket(address)
  session = { media, audio, socket }
  socket.onopen = () => {
    show('silence')
    audio.createMediaStreamSource(media).connect(node)
    node.port.onmessage = ({ data }) => socket.readyState === WebSocket.OPEN && socket.send(data)
  }
  socket.onmessage = ({ data }) => receive(JSON.parse(data))
  socket.onclose = ({ code, reason }) => stop(code === 1000 ? 'idle' : 'closed: ' + (reason || code))
}

function stop(text) {
  for (const track of session?.media.getTracks() ?? []) track.stop()
  session?.audio.close()
  session = undefined
  toggle.textContent = 'Start the microphone'
  show(text)
}

toggle.onclick = () => {
  if (session) {
    session.socket.send('{"type":"end"}')
    return
  }
  toggle.textContent = 'Stop'
  start().catch((error) => stop(error.message))
}
</script>
</html>
`
}
