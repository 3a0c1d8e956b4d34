import { parseHTML } from 'linkedom'

/** A document for Plot to draw in: there is no browser here. */
export function chartDocument(): Document {
  return parseHTML('<!doctype html><html><body></body></html>').document as unknown as Document
}
