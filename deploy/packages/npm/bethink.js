#!/usr/bin/env node
require("./run.js")("bethink");
