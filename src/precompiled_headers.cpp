// SPDX-License-Identifier: Apache-2.0
// The owner of the precompiled headers needs one file to compile: cmake/TallyRoom.cmake lists them.
