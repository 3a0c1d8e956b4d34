import { type EnhanceAppContext, inBrowser } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, h, nextTick } from 'vue'
import { data as heroCode } from './hero_code.data'
import { markScrollingTables } from './scrolling_tables'
import './charts.css'
import './code_blocks.css'
import './columns.css'
import './hero_code.css'
import './palette.css'
import './size_calculator.css'
import './tables.css'

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-image': () => h('div', { class: 'hero-code vp-doc', innerHTML: heroCode }),
    }),
  enhanceApp({ app, router }: EnhanceAppContext) {
    app.component(
      'SizeCalculator',
      defineAsyncComponent(() => import('./size_calculator')),
    )
    if (inBrowser) router.onAfterPageLoad = () => nextTick(markScrollingTables)
  },
}
