/**
 * Choices of test generators: the same seed makes the same files on every machine. Private: no product imports it.
 *
 * @packageDocumentation
 */
export {
  type CampaignCounts,
  type CampaignOptions,
  type ConstructedFile,
  type Grammar,
  runConstructedCampaign,
} from './constructed_campaign.js'
export { Random } from './random.js'
