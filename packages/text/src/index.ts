/**
 * Text from outside, made visible. Private: products that print such text have this in their builds.
 *
 * @packageDocumentation
 */
export { visibleJson, visibleLines, visibleMessage, visibleText } from './visible_text.js'
