import { render } from 'preact'
import { App } from './app.js'

const root = document.getElementById('app')
if (root !== null) render(<App />, root)
// The service worker keeps the page's files: after the first visit it needs no network.
if (import.meta.env.PROD && 'serviceWorker' in navigator) await navigator.serviceWorker.register('./service_worker.js')
