// MediaSwitch
