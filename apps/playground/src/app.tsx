import { useEffect, useState } from 'preact/hooks'
import { CharacterPanel } from './character/character_panel.js'
import { SpeechPanel } from './speech/speech_panel.js'
import { WeightsPanel } from './weights/weights_panel.js'

const PANELS = {
  train: { title: 'Train', Panel: CharacterPanel },
  weights: { title: 'Weights', Panel: WeightsPanel },
  speech: { title: 'Speech', Panel: SpeechPanel },
} as const

const REPOSITORY = 'https://github.com/cudnn-rnn/cudnn-rnn'

type PanelName = keyof typeof PANELS

/** The page: one panel is shown, and the others keep their state and their work. */
export function App() {
  const shown = usePanelName()
  return (
    <>
      <header>
        <h1>cudnn-rnn playground</h1>
        <nav aria-label="Parts">
          {Object.entries(PANELS).map(([name, { title }]) => (
            <a key={name} href={`#${name}`} aria-current={name === shown ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <nav class="links" aria-label="Project">
          <a href={`${REPOSITORY}/blob/main/docs/guide/getting_started.md`}>Docs</a>
          <a href={REPOSITORY}>Repository</a>
        </nav>
      </header>
      <main>
        {Object.entries(PANELS).map(([name, { Panel }]) => (
          <section key={name} hidden={name !== shown}>
            <Panel />
          </section>
        ))}
      </main>
    </>
  )
}

/** The panel that the address names. */
function usePanelName(): PanelName {
  const [name, setName] = useState(named)
  useEffect(() => {
    const change = () => setName(named())
    addEventListener('hashchange', change)
    // The address may have changed since the page was drawn.
    change()
    return () => removeEventListener('hashchange', change)
  }, [])
  return name
}

function named(): PanelName {
  const name = location.hash.slice(1)
  return Object.hasOwn(PANELS, name) ? (name as PanelName) : 'train'
}
