import { parseHTML } from 'linkedom'

/** A document for Plot outside a browser. */
export function chartDocument(): Document {
  return parseHTML('<!doctype html><html><body></body></html>').document as unknown as Document
}
