import DefaultTheme from 'vitepress/theme'
import './charts.css'
import './code_blocks.css'
import './columns.css'
import './tables.css'

export default DefaultTheme
